/** Bugs of polling, planted between the poller and the log, or between it and the servers. */
import type { McpOffer } from '#kernel/domain/mcp-offer.ts'
import type { EventLog, OutgoingRecord } from '#kernel/ports/event-log.ts'
import { withAppend, withLog, withNewIdentity, withOutputs } from '../bugs/changed-ports.ts'
import { PARTITIONS } from '../world.ts'
import type { MeaningBug } from './meaning-world.ts'

const isItem = ({ topic }: OutgoingRecord) => topic === 'ingress.mcp'

/** Events wait for the position that passes them. */
function positionFirst(log: EventLog): Partial<EventLog> {
  let waiting: OutgoingRecord[] = []
  return {
    async append(records) {
      waiting.push(...records.filter(isItem))
      const others = records.filter(record => !isItem(record))
      const positions = others.length > 0 ? await log.append(others) : []
      if (!others.some(({ topic }) => topic === 'cursors') || waiting.length === 0) return positions
      const late = waiting
      waiting = []
      await log.append(late)
      return positions
    },
  }
}

export const POLLER_BUGS: readonly MeaningBug[] = [
  {
    name: 'position-first',
    meaning: 'the position is written before the events that it passes',
    wrap: process => withLog(process, positionFirst),
  },
  {
    name: 'drift-ignored',
    meaning: 'a tool that was changed is called as if nothing had happened',
    outside: outside => {
      const first = new Map<string, McpOffer[]>()
      const { mcp } = outside
      return {
        ...outside,
        mcp: {
          async connect(target, bounds) {
            const connection = await mcp.connect(target, bounds)
            const name = JSON.stringify(target)
            return {
              ...connection,
              async list(timeoutMs) {
                const offers = await connection.list(timeoutMs)
                const known = first.get(name) ?? offers
                first.set(name, known)
                return known
              },
            }
          },
        },
      }
    },
  },
  {
    name: 'item-of-the-moment',
    meaning: 'an item that is read again is another event',
    outside: (outside, { world }) => ({
      ...outside,
      writer: writer => withNewIdentity(writer, topic => topic === 'ingress.mcp', world.clock.now),
    }),
  },
  {
    name: 'everybody-polls',
    meaning: 'every replica polls every observation',
    wrap: process =>
      withLog(process, log => ({
        consume: options => {
          if (options.group !== 'mcp-poller') return log.consume(options)
          const all = Array.from({ length: PARTITIONS }, (_, partition) => ({
            ...{ topic: 'cursors', partition },
          }))
          return log.consume({ ...options, onAssigned: async () => options.onAssigned?.(all) })
        },
      })),
  },
  {
    name: 'suspension-untold',
    meaning: 'subscriptions are suspended for their source, and nobody is told',
    outside: outside => ({
      ...outside,
      writer: writer =>
        withOutputs(writer, output => {
          const { kind } = (output.value ?? {}) as { kind?: string }
          const isTold = output.topic === 'notices' && kind === 'observation-failed'
          return isTold ? { ...output, value: null } : output
        }),
    }),
  },
  {
    name: 'positions-kept-to-itself',
    meaning: 'the position is never written, so that the next owner begins anew',
    wrap: process =>
      withAppend(process, records => records.filter(({ topic }) => topic !== 'cursors')),
  },
]
