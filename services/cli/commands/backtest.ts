import { setTimeout as delay } from 'node:timers/promises'
import type { Backtest } from '#services/client/backtest-calls.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { rowOf } from './test-condition.ts'

const COLUMNS = [
  ['AT', 'at'],
  ['EVENT', 'event'],
  ['VERDICT', 'verdict'],
  ['FATE', 'fate'],
  ['REASON', 'reason'],
] as const

const POLL_MS = 300

/** `ambit backtest ID --hours N [--yes]`: how often would it have fired, and on what. */
export const backtest: Command = {
  summary: 'Try a subscription on the events of the last hours; asks before money is spent.',
  arguments: ['ID'],
  options: {
    hours: { type: 'string', value: 'N', help: 'How far back, at most 168. Default 24.' },
    yes: { type: 'boolean', help: 'Confirm the estimate at once.' },
  },
  notes: ['Without --yes only the estimate is printed. Interrupting a running one cancels it.'],
  async run({ args: [id = ''], flags, client, output, world }) {
    const { backtests } = client()
    const hours = flags.count('hours', 1) ?? 24
    let found = await backtests.create({ subscription: id, hours })
    if (!flags.isSet('yes')) {
      if (output.isJson) output.json(found)
      else output.text(estimateText(found))
      output.note('Nothing was judged: confirm with --yes.')
      return EXIT.ok
    }
    output.note(estimateText(found))
    found = await backtests.confirm(found.id)
    while (found.state === 'running') {
      if (world.interrupted.aborted) found = await backtests.cancel(found.id)
      else {
        await delay(POLL_MS)
        found = await backtests.get(found.id)
      }
    }
    if (output.isJson) output.json(found)
    else {
      output.text(
        formatTable(
          COLUMNS,
          found.items.map(each => ({ ...rowOf(each), at: each.at ?? '' })),
        ),
      )
      output.text(`${found.state}: would have fired ${found.fired} times.`)
    }
    return found.state === 'done' ? EXIT.ok : EXIT.failed
  },
}

function estimateText({ estimate, hours }: Backtest): string {
  const { events, matched, calls, totalTokens, cost } = estimate
  return (
    `${events} events in ${hours} h, ${matched} match; ` +
    `judging them takes at most ${calls} calls, ` +
    `${totalTokens} tokens, ${cost} of the tenant's currency.`
  )
}
