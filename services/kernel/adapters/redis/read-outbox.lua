-- KEYS: outbox. Answers [id, body, …] in no order.
return redis.call('HGETALL', KEYS[1])
