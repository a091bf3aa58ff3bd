"""Alerts that the lab does not force, and why."""

UNFORCED = {
    "PinledgerStuck": "reports that have failed count on after the candidate is dropped, so nothing ends it in minutes: Tests/EndToEnd/test_reaction.py",
    "PinledgerRenewalAnnounced": "an authority has to announce a renewal: Tests/EndToEnd/test_renewal_information.py has one that does",
    "PinledgerDocumentsNotRenewed": "a document lives for five minutes at least, and signing stops at half of them: promtool tests the rule",
    "PinledgerDocumentsExpire": "the same document has to end: Tests/EndToEnd/test_edge.py moves the time",
}
