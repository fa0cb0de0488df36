/** `GET /v1/mailboxes/{agent}/messages?state=…`, as a read model that lags behind. */
import { readable } from '#kernel/domain/readable.ts'
import type { Message } from '#schemas/generated/records.ts'
import type { World } from '../world.ts'

export interface QueuedMessage {
  id: string
  session: string | null
  input: unknown
}

interface View {
  messages: Map<string, Message>
  states: Map<string, { state: string; version: number }>
  read: { mailbox: number; 'mailbox.state': number }
}

const views = new WeakMap<World, Map<number, View>>()

/** What the read model knew `lagMs` ago, roughly: lags come in steps of 100 ms. */
export function messagesIn(
  world: World,
  { agent, state }: { agent: string; state: string },
  lagMs: number,
): QueuedMessage[] {
  const lag = Math.floor(lagMs / 100) * 100
  const own = views.get(world) ?? new Map<number, View>()
  views.set(world, own)
  const view = own.get(lag) ?? {
    ...{ messages: new Map(), states: new Map() },
    read: { mailbox: 0, 'mailbox.state': 0 },
  }
  own.set(lag, view)
  readUntil(world, view, world.clock.now() - lag)
  return [...view.messages.values()]
    .filter(message => message.agent === agent)
    .filter(({ id }) => (view.states.get(id)?.state ?? 'queued') === state)
    .map(({ id, session, input }) => ({ id, session, input }))
}

function readUntil({ history, codec }: World, view: View, untilMs: number): void {
  const take = (topic: keyof View['read'], value: Uint8Array) => {
    if (topic === 'mailbox') {
      const message = codec.decode('message', value)
      view.messages.set(message.id, message)
    } else {
      const { messageId, state, version } = codec.decode('mailbox-transition', value)
      const known = view.states.get(messageId)
      if (!known || known.version <= version) view.states.set(messageId, { state, version })
    }
  }
  for (const topic of ['mailbox', 'mailbox.state'] as const) {
    const written = history.of(topic)
    for (; view.read[topic] < written.length; view.read[topic] += 1) {
      const { at, record } = written[view.read[topic]]!
      if (at > untilMs) break
      const { value } = record
      // Poison that a fault planted is passed over.
      if (value) readable(() => take(topic, value))
    }
  }
}
