import { join } from 'node:path'
import type { CliWorld, Flags } from './command.ts'

export interface Connection {
  url: string
  key?: string
  /** Where the key came from, for `doctor`. */
  keyFrom: string
}

/** Where the embedded host listens unless told otherwise. */
const DEFAULT_URL = 'http://127.0.0.1:7171'

/** Folder of local state, as the embedded host takes it. */
export function dataFolder(env: CliWorld['env']): string {
  return env.AMBIT_DATA_DIR || '.ambit'
}

/**
 * Options first, then the environment, then the key that the embedded host keeps in its data
 * folder. That last key is sent to this machine only.
 */
export async function findConnection(flags: Flags, world: CliWorld): Promise<Connection> {
  const { env } = world
  const url = flags.text('url') ?? (env.AMBIT_URL || DEFAULT_URL)
  const fromFlag = flags.text('key')
  if (fromFlag) return { url, key: fromFlag, keyFrom: '--key' }
  if (env.AMBIT_API_KEY) return { url, key: env.AMBIT_API_KEY, keyFrom: 'AMBIT_API_KEY' }
  const path = join(dataFolder(env), 'api-key')
  if (!isLocal(url)) return { url, keyFrom: 'none; the local key file is not sent elsewhere' }
  const key = (await world.readFile(path).catch(() => '')).trim()
  return key === '' ? { url, keyFrom: `none; there is no ${path}` } : { url, key, keyFrom: path }
}

function isLocal(url: string): boolean {
  const host = URL.parse(url)?.hostname ?? ''
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host)
}
