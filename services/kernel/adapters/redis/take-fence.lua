-- KEYS: fence. ARGV: epoch, the whole fence as text (epoch first).
-- Answers {1 when taken, what is stored afterwards}.
local stored = redis.call('GET', KEYS[1])
if stored and tonumber(string.match(stored, '^%d+')) >= tonumber(ARGV[1]) then
  return {0, stored}
end
redis.call('SET', KEYS[1], ARGV[2])
return {1, ARGV[2]}
