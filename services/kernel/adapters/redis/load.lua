-- KEYS: clock, documents, counters. ARGV: time seen, number of documents.
-- Answers {now, documents (false: absent), sums of the counters}. Writes nothing.
local documents, sums = {}, {}
local last_document = 1 + tonumber(ARGV[2])
for i = 2, last_document do
  documents[i - 1] = redis.call('GET', KEYS[i])
end
for i = last_document + 1, #KEYS do
  local sum = 0
  for _, amount in ipairs(redis.call('HVALS', KEYS[i])) do
    sum = sum + tonumber(amount)
  end
  sums[i - last_document] = string.format('%.17g', sum)
end
return {store_now(KEYS[1], ARGV[1]), documents, sums}
