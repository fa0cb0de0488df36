import type { CliWorld } from './command.ts'
import { UsageError } from './usage-error.ts'

/** The text of a file, or of stdin for `-`. Throws `UsageError` when it cannot be read. */
export async function readInput(world: CliWorld, path: string): Promise<string> {
  try {
    return await world.readFile(path)
  } catch (error) {
    const code = (error as { code?: unknown } | null)?.code
    throw new UsageError(`The file ${path} cannot be read.`, {
      expected: 'a readable file, or - for standard input',
      came: typeof code === 'string' ? code : 'a failure',
    })
  }
}

/** JSON of an option or a file. Throws `UsageError` that names where it came from. */
export function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${where} is not JSON.`, {
      expected: 'JSON',
      came: error instanceof Error ? error.message : 'another text',
    })
  }
}
