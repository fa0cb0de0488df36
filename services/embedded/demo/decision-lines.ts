/** One readable line per decision on the terminal. */

import type { Platform } from '#kernel/host/platform.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { Decision, VerdictRecord } from '#schemas/generated/records.ts'

const MARKS: Record<string, string> = { delivered: '●', grouped: '◌', duplicate: '=', cycle: '↻' }

/** Prints decisions from now on; `names` gives a subscription's name. */
export async function printDecisions(
  { log, codec, directory }: Pick<Platform, 'log' | 'codec' | 'directory'>,
  print: (line: string) => void,
): Promise<{ stop(): Promise<void> }> {
  return log.follow({
    topics: ['verdicts', 'decisions'],
    from: 'end',
    onRecords: (records: LogRecord[]) => {
      for (const { topic, value } of records) {
        if (!value) continue
        if (topic === 'verdicts') {
          const verdict = codec.decode('verdict', value)
          const { tenant, subscription } = verdict
          const named = directory.subscription(tenant, subscription)?.name ?? subscription
          print(verdictLine(verdict, named))
          continue
        }
        const decision = codec.decode('decision', value)
        const { tenant, subscription } = decision
        print(
          decisionLine(
            decision,
            directory.subscription(tenant, subscription)?.name ?? subscription,
          ),
        )
      }
    },
  })
}

/** `12:00:01 ● delivered    refund-requests → support-triage  msg_1  (first of its occurrence)`. */
export function decisionLine(decision: Decision, name: string): string {
  const { fate, agent, event, reason, repeats, at } = decision
  const time = new Date(at).toISOString().slice(11, 19)
  const again = repeats > 0 ? `, seen ${repeats + 1} times` : ''
  const mark = MARKS[fate] ?? '○'
  const from = `${name} → ${agent}`.padEnd(36)
  return `${time} ${mark} ${fate.padEnd(14)} ${from} ${plain(event.id)}  (${plain(reason)}${again})`
}

/** `12:00:01 ? matched      refund-tickets: “I would like my money back” (offline, 0.8)`. */
function verdictLine(verdict: VerdictRecord, name: string): string {
  const { outcome, confidence, model, body, at } = verdict
  const time = new Date(at).toISOString().slice(11, 19)
  const { evidence } = body as { evidence?: { quote: string }[] }
  const quote = evidence?.[0] ? ` “${plain(evidence[0].quote)}”` : ''
  return `${time} ? ${outcome.padEnd(14)} ${name}:${quote} (judged by ${model}, ${confidence})`
}

/** Text of others on a terminal: control characters would be commands there. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?').slice(0, 60)
}
