/** Bugs of polling, planted between the poller and the log, or between it and the servers. */
import type { McpOffer } from '#kernel/domain/mcp-offer.ts'
import type { EventLog, OutgoingRecord } from '#kernel/ports/event-log.ts'
import { PARTITIONS } from '../world.ts'
import type { MeaningBug } from './meaning-world.ts'

const withLog = (change: (log: EventLog) => Partial<EventLog>): Pick<MeaningBug, 'wrap'> => ({
  wrap: process => ({ ...process, log: { ...process.log, ...change(process.log) } }),
})

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
    ...withLog(positionFirst),
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
      writer: writer => ({
        encode(output, extra) {
          if (output.topic !== 'ingress.mcp' || !output.value) return writer.encode(output, extra)
          const { attributes, ...rest } = output.value as { attributes: Record<string, unknown> }
          const id = `${String(attributes.id)}/${world.clock.now()}`
          const value = { ...rest, attributes: { ...attributes, id, dedupkey: id } }
          return writer.encode({ ...output, id, value }, extra)
        },
      }),
    }),
  },
  {
    name: 'everybody-polls',
    meaning: 'every replica polls every observation',
    ...withLog(log => ({
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
      writer: writer => ({
        encode(output, extra) {
          const { kind } = (output.value ?? {}) as { kind?: string }
          const isTold = output.topic === 'notices' && kind === 'observation-failed'
          return writer.encode(isTold ? { ...output, value: null } : output, extra)
        },
      }),
    }),
  },
  {
    name: 'positions-kept-to-itself',
    meaning: 'the position is never written, so that the next owner begins anew',
    ...withLog(log => ({
      async append(records) {
        const kept = records.filter(({ topic }) => topic !== 'cursors')
        return kept.length > 0 ? log.append(kept) : []
      },
    })),
  },
]
