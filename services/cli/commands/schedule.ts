/** `schedule`: what comes, and what was missed. */
import type { Command } from '../command.ts'
import { get } from './get.ts'

const { from, to, limit, all, cursor } = get.options ?? {}

export const schedule: Command = {
  summary: 'Show what schedules will do, and what they missed.',
  arguments: [],
  options: Object.fromEntries(
    Object.entries({ from, to, limit, all, cursor }).flatMap(([name, row]) =>
      row ? [[name, row] as const] : [],
    ),
  ),
  run: context => get.run({ ...context, args: ['schedule'] }),
}
