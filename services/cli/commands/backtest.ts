import { setTimeout as delay } from 'node:timers/promises'
import type { Backtest, Backtests } from '#services/client/backtest-calls.ts'
import type { CliWorld, Command, Output } from '../command.ts'
import { costText, counted } from '../cost-text.ts'
import { EXIT } from '../exit-codes.ts'
import { withSubscription } from '../find-subscription.ts'
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
  arguments: ['ID|NAME'],
  options: {
    hours: { type: 'string', value: 'N', help: 'How far back, at most 168. Default 24.' },
    yes: { type: 'boolean', help: 'Confirm the estimate at once.' },
  },
  notes: ['Without --yes only the estimate is printed. Interrupting a running one cancels it.'],
  async run({ args: [id = ''], flags, client, output, world }) {
    const { backtests } = client()
    const hours = flags.count('hours', 1) ?? 24
    let found = await withSubscription(client(), id, subscription =>
      backtests.create({ subscription, hours }),
    )
    if (!flags.isSet('yes')) {
      if (output.isJson) output.json(found)
      else output.text(estimateText(found))
      output.note('Nothing was judged: confirm with --yes.')
      return EXIT.ok
    }
    output.note(estimateText(found))
    found = await followed(await backtests.confirm(found.id), { backtests, world, output })
    if (output.isJson) output.json(found)
    else showResult(found, output)
    return found.state === 'done' ? EXIT.ok : EXIT.failed
  },
}

interface Following {
  backtests: Backtests
  world: Pick<CliWorld, 'interrupted'>
  output: Output
}

/** Waits for the end, and says how far it is; an interrupt cancels it. */
async function followed(
  started: Backtest,
  { backtests, world, output }: Following,
): Promise<Backtest> {
  let found = started
  while (found.state === 'running') {
    if (world.interrupted.aborted) return backtests.cancel(found.id)
    await delay(POLL_MS)
    const { done } = found.progress
    found = await backtests.get(found.id)
    const { progress } = found
    if (progress.done > done) output.note(`${progress.done} of ${progress.total} judged`)
  }
  return found
}

function showResult({ state, items, fired, reason, usage, progress }: Backtest, output: Output) {
  if (items.length > 0) {
    const rows = items.map(each => ({ ...rowOf(each), at: each.at ?? '' }))
    output.text(formatTable(COLUMNS, rows))
  }
  const spent = `Judging took ${costText(usage ?? {})}.`
  if (state === 'done') {
    output.text(`It would have fired ${fired === 1 ? 'once' : `${fired} times`}. ${spent}`)
    return
  }
  const why = reason === undefined ? '' : `: ${reason}`
  output.note(
    `The backtest is ${state} after ${progress.done} of ${progress.total}${why}. ${spent}`,
  )
}

function estimateText({ estimate, hours }: Backtest): string {
  const { events, matched, isCut } = estimate
  const cut = isCut ? ', and more than one backtest takes: the newest are tried' : ''
  return (
    `${counted(events, 'event')} in the last ${hours} h, ` +
    `${matched} of them pass the filters${cut}. ` +
    `Judging takes ${estimate.calls === 0 ? '' : 'at most '}${costText(estimate)}.`
  )
}
