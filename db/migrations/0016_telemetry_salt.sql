SET LOCAL ROLE pinledger_owner;

-- There are so few networks that whoever has the salt can try them all: it is for those alone who take reports.
REVOKE SELECT ON pinledger.telemetry_salt FROM pinledger_reader;
