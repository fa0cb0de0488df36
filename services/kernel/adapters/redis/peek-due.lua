-- KEYS: clock, queue. ARGV: time seen, number of entries.
-- Answers {now, [member, time, …]}, earliest first, due or not.
local entries = redis.call('ZRANGE', KEYS[2], 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
return {store_now(KEYS[1], ARGV[1]), entries}
