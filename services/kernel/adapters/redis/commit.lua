-- One commit (S1 to S4). KEYS: clock, then one key for each item of ARGV, in the same order.
-- ARGV: time seen, then for each list its length and its items:
--   fence (0 or 1 items)  expected, next
--   expect                version
--   add                   field, amount, limit or '', 1 for set, ttl in ms
--   put                   version and body in one text or '', ttl in ms or ''
--   due                   member, time or ''
--   clear                 member
--   outbox                member, body
-- Answers {now, 'ok' | 'lost' | 'conflict' | 'limit', detail}; positions in `detail` count from 0.
-- Every precondition is checked before the first write. The first write is a SET, so a server out
-- of memory refuses it, and then nothing was written; Redis lets a script that has written finish.
local next_key, next_arg = 0, 0
local function key()
  next_key = next_key + 1
  return KEYS[next_key]
end
local function arg()
  next_arg = next_arg + 1
  return ARGV[next_arg]
end

local clock_key = key()
local now = store_now(clock_key, arg())

local fence_key, fence_next
if arg() == '1' then
  fence_key = key()
  local expected = arg()
  fence_next = arg()
  local stored = redis.call('GET', fence_key)
  if stored ~= expected then
    return {now, 'lost', stored}
  end
end

for i = 1, tonumber(arg()) do
  -- A version has at most 16 digits, so the body need not be read.
  local head = redis.call('GETRANGE', key(), 0, 16)
  local version = string.match(head, '^(%d+)\n') or '0'
  if version ~= arg() then
    return {now, 'conflict', i - 1}
  end
end

local counters, counter_order = {}, {}
local function counter_of(name)
  local counter = counters[name]
  if counter then
    return counter
  end
  counter = {name = name, sum = 0, fields = {}, changed = {}}
  local stored = redis.call('HGETALL', name)
  for i = 1, #stored, 2 do
    local amount = tonumber(stored[i + 1])
    counter.fields[stored[i]] = amount
    counter.sum = counter.sum + amount
  end
  counter.found = counter.sum
  counters[name] = counter
  counter_order[#counter_order + 1] = counter
  return counter
end

for i = 1, tonumber(arg()) do
  local counter = counter_of(key())
  local field, amount, limit, is_set, ttl = arg(), tonumber(arg()), arg(), arg() == '1', arg()
  local old = counter.fields[field] or 0
  if is_set then
    counter.fields[field] = amount
    counter.sum = counter.sum - old + amount
  else
    if amount > 0 and limit ~= '' and counter.sum + amount > tonumber(limit) then
      return {now, 'limit', {i - 1, string.format('%.17g', counter.found)}}
    end
    counter.fields[field] = old + amount
    counter.sum = counter.sum + amount
  end
  counter.changed[#counter.changed + 1] = field
  counter.ttl = ttl
end

redis.call('SET', clock_key, string.format('%.0f', now))
if fence_key then
  redis.call('SET', fence_key, fence_next)
end
for _, counter in ipairs(counter_order) do
  for _, field in ipairs(counter.changed) do
    redis.call('HSET', counter.name, field, string.format('%.17g', counter.fields[field]))
  end
  redis.call('PEXPIRE', counter.name, counter.ttl)
end
for _ = 1, tonumber(arg()) do
  local document, value, ttl = key(), arg(), arg()
  if value == '' then
    redis.call('DEL', document)
  elseif ttl == '' then
    redis.call('SET', document, value)
  else
    redis.call('SET', document, value, 'PX', ttl)
  end
end
for _ = 1, tonumber(arg()) do
  local queue, member, at = key(), arg(), arg()
  if at == '' then
    redis.call('ZREM', queue, member)
  else
    redis.call('ZADD', queue, at, member)
  end
end
for _ = 1, tonumber(arg()) do
  redis.call('HDEL', key(), arg())
end
for _ = 1, tonumber(arg()) do
  redis.call('HSET', key(), arg(), arg())
end
return {now, 'ok', false}
