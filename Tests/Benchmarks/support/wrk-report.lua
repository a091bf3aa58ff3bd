-- Ends a run of wrk with one line of JSON. Times are in microseconds.
done = function(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"microseconds":%d,"bytes":%d,"errors":%d,"p50":%d,"p99":%d,"max":%d}\n',
        summary.requests, summary.duration, summary.bytes,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99), latency.max))
end
