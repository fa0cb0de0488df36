import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A Lua script and the name under which the server remembers it. */
export interface RedisScript {
  lua: string
  sha: string
}

function script(...files: string[]): RedisScript {
  const parts = files.map(file => readFileSync(new URL(file, import.meta.url), 'utf8'))
  const lua = parts.join('\n')
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

/** Everything this adapter asks of Redis; each script touches keys of one tenant only. */
export const REDIS_SCRIPTS = {
  commit: script('./clock.lua', './commit.lua'),
  load: script('./clock.lua', './load.lua'),
  peekDue: script('./clock.lua', './peek-due.lua'),
  takeFence: script('./take-fence.lua'),
  readOutbox: script('./read-outbox.lua'),
}
