import type { Command } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'

/** `ambit up`: the embedded product, until an interrupt. */
export const up: Command = {
  summary: 'Start Ambit in this folder: one process, nothing to install.',
  arguments: [],
  options: {
    empty: { type: 'boolean', help: 'Start without the demonstration tenant.' },
    port: { type: 'string', value: 'PORT', help: 'Port to listen on. Default 7171.' },
    data: { type: 'string', value: 'DIR', help: 'Folder of local state. Default .ambit' },
    host: { type: 'string', value: 'HOST', help: 'Address to listen on. Default 127.0.0.1' },
  },
  async run({ flags, world }): Promise<ExitCode> {
    const named = ['port', 'data', 'host'].flatMap(name => {
      const value = flags.text(name)
      return value === undefined ? [] : [`--${name}`, value]
    })
    const args = [...(flags.isSet('empty') ? ['--empty'] : []), ...named]
    const exit = await world.startEmbedded(args)
    return exit === 0 ? EXIT.ok : EXIT.failed
  },
}
