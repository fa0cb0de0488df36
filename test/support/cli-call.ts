/** Calls the command line as a shell would, with everything outside replaced. */
import type { CliWorld } from '#services/cli/command.ts'
import { COMMANDS } from '#services/cli/commands.ts'
import { runCli } from '#services/cli/run-cli.ts'
import { createClient } from '#services/client/create-client.ts'

export interface CliCall {
  exit: number
  stdout: string
  stderr: string
}

export interface CliSurroundings extends Partial<CliWorld> {
  /** Files by path; `-` is stdin. */
  files?: Record<string, string>
}

/** One call; a client waits for nothing between its attempts. */
export async function callCli(
  argv: readonly string[],
  surroundings: CliSurroundings = {},
): Promise<CliCall> {
  const { files = {}, ...replaced } = surroundings
  const written = { stdout: '', stderr: '' }
  const to = (name: keyof typeof written) => ({
    write: (text: string) => {
      written[name] += text
    },
  })
  const clock = { now: () => performance.now(), sleep: async () => {} }
  const world: CliWorld = {
    env: {},
    stdout: to('stdout'),
    stderr: to('stderr'),
    interrupted: new AbortController().signal,
    createClient: options => createClient({ clock, attemptsMax: 2, ...options }),
    fetch,
    folderProblem: async () => undefined,
    startEmbedded: async () => 0,
    infra: {
      topics: () => {
        throw new Error('no Kafka in this test')
      },
      redis: async () => {},
    },
    readFile: async path => {
      const text = files[path]
      if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' })
      return text
    },
    ...replaced,
  }
  const exit = await runCli(argv, COMMANDS, world)
  return { exit, ...written }
}
