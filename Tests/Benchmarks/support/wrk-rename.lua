-- Renames one of many apps with every request, under an idempotency key of its own: one command, one event.
-- Arguments: token, number of apps, a word that no other run has.
local token, apps, run
local number = 0

function init(arguments)
    token, apps, run = arguments[1], tonumber(arguments[2]), arguments[3]
end

function request()
    number = number + 1
    local name = run .. "-" .. number
    return wrk.format("PATCH", "/v1/apps/com.example.admin" .. number % apps, {
        ["Authorization"] = "Bearer " .. token,
        ["Content-Type"] = "application/json",
        ["Idempotency-Key"] = name,
    }, '{"display_name":"' .. name .. '"}')
end

done = function(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"microseconds":%d,"bytes":%d,"errors":%d,"p50":%d,"p99":%d,"max":%d}\n',
        summary.requests, summary.duration, summary.bytes,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99), latency.max))
end
