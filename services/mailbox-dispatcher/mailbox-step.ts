import type { Step } from '#kernel/host/step.ts'
import type { Message } from '#schemas/generated/records.ts'
import { decideIntake } from './decide-intake.ts'
import { createMailboxRebuild, type MailboxStepWorld } from './mailbox-rebuild.ts'
import { MAILBOX_STEP, messageKey, readyKey } from './message-document.ts'

/** Takes appended messages into their mailboxes, and gives a lost store its mailboxes back. */
export function createMailboxStep(world: MailboxStepWorld): Step<Message> {
  const { codec } = world
  return {
    name: MAILBOX_STEP,
    topics: ['mailbox'],
    read({ value }) {
      if (!value) return null
      const message = codec.decode('message', value)
      return { tenant: message.tenant, value: message }
    },
    hints: ({ value, record }) => ({
      documents: [messageKey(value.id), readyKey(record.partition)],
      counters: [],
    }),
    decide: (unit, { value, record }) => {
      const { partition, offset } = record
      decideIntake(unit, { message: value, partition, offset })
    },
    journal: 'mailbox.state',
    rebuild: createMailboxRebuild(world),
  }
}
