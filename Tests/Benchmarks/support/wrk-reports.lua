-- Sends batches of reports that were made before, one after the other. Arguments: a file with one body a line, and the
-- milliseconds that a connection waits before each, on average.
local bodies = {}
local number = 0
local pause = 0

function init(arguments)
    for line in io.lines(arguments[1]) do bodies[#bodies + 1] = line end
    number = math.random(#bodies)
    pause = tonumber(arguments[2] or 0)
end

-- At random, so that connections do not all come at once.
function delay() return math.random() * 2 * pause end

function request()
    number = number + 1
    return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[number % #bodies + 1])
end

done = function(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        '\n{"requests":%d,"microseconds":%d,"bytes":%d,"errors":%d,"p50":%d,"p99":%d,"max":%d}\n',
        summary.requests, summary.duration, summary.bytes,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99), latency.max))
end
