-- The store's time in ms: the server's, but never before what a commit of this tenant stored or
-- what the caller has seen (S5). A server clock that was set back thus stands still for a while.
local function store_now(clock_key, seen)
  local time = redis.call('TIME')
  local ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  return math.max(ms, tonumber(seen), tonumber(redis.call('GET', clock_key) or 0))
end
