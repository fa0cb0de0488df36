import type { ApprovalAnswer } from '#services/client/api.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { parseJson } from '../read-input.ts'
import { UsageError } from '../usage-error.ts'

const DECISIONS = ['accept', 'edit', 'respond', 'ignore'] as const

/** `ambit answer ID DECISION`: a question that a run asked, or a match that waits. */
export const answer: Command = {
  summary: 'Answer a question that a run asked, or a match that waits: accept or ignore it.',
  arguments: ['ID', 'accept|edit|respond|ignore'],
  options: {
    text: { type: 'string', value: 'TEXT', help: 'The answer, with respond.' },
    args: { type: 'string', value: 'JSON', help: 'Arguments to use instead, with edit.' },
    reason: { type: 'string', value: 'TEXT', help: 'Why; kept with the answer.' },
  },
  async run({ args: [id = '', word = ''], flags, client, output }) {
    const decision = DECISIONS.find(known => known === word)
    if (!decision) {
      throw new UsageError('There is no such answer.', {
        expected: DECISIONS.join(', '),
        came: word,
      })
    }
    const [text, args, reason] = ['text', 'args', 'reason'].map(name => flags.text(name))
    const given: ApprovalAnswer = {
      decision,
      ...(text === undefined ? {} : { text }),
      ...(args === undefined ? {} : { args: parseJson(args, 'The option --args') }),
      ...(reason === undefined ? {} : { reason }),
    }
    const answered = await client().mailboxes.answerApproval(id, given)
    if (output.isJson) output.json(answered)
    else if (answered.isPending) output.text(`answered ${id}: ${decision}; not yet judged`)
    else output.text(`answered ${id}: ${decision}`)
    return EXIT.ok
  },
}
