/** The commands, in the order in which the help lists them. */
import { ack } from './commands/ack.ts'
import { answer } from './commands/answer.ts'
import { apply } from './commands/apply.ts'
import { backtest } from './commands/backtest.ts'
import { calendarDelete, calendarGet, calendarPut } from './commands/calendar.ts'
import { completion } from './commands/completion.ts'
import { deadletterList, deadletterRedrive } from './commands/dead-letter.ts'
import { describe } from './commands/describe.ts'
import { doctor } from './commands/doctor.ts'
import { explain } from './commands/explain.ts'
import { exportObjects } from './commands/export.ts'
import { get } from './commands/get.ts'
import { keyCreate, keyDelete } from './commands/key.ts'
import { approve, pause, reject, resume } from './commands/lifecycle.ts'
import {
  mailboxCancel,
  mailboxClaim,
  mailboxComplete,
  mailboxFail,
  mailboxList,
  mailboxRedrive,
} from './commands/mailbox.ts'
import { publish } from './commands/publish.ts'
import { rebuild } from './commands/rebuild.ts'
import { schedule } from './commands/schedule.ts'
import { start, stop } from './commands/switch-agent.ts'
import { tail } from './commands/tail.ts'
import { testCondition } from './commands/test-condition.ts'
import { topicsApply, topicsDiff } from './commands/topics.ts'
import { trace } from './commands/trace.ts'
import { up } from './commands/up.ts'
import { usage } from './commands/usage.ts'
import type { CommandTable } from './parse-command-line.ts'

export const COMMANDS: CommandTable = {
  up,
  doctor,
  apply,
  export: exportObjects,
  get,
  describe,
  pause,
  resume,
  approve,
  reject,
  stop,
  start,
  publish,
  tail,
  trace,
  explain,
  test: testCondition,
  backtest,
  usage,
  schedule,
  'calendar put': calendarPut,
  'calendar get': calendarGet,
  'calendar delete': calendarDelete,
  answer,
  ack,
  'mailbox list': mailboxList,
  'mailbox claim': mailboxClaim,
  'mailbox complete': mailboxComplete,
  'mailbox fail': mailboxFail,
  'mailbox redrive': mailboxRedrive,
  'mailbox cancel': mailboxCancel,
  'deadletter list': deadletterList,
  'deadletter redrive': deadletterRedrive,
  'key create': keyCreate,
  'key delete': keyDelete,
  'topics diff': topicsDiff,
  'topics apply': topicsApply,
  rebuild,
  completion: completion(() => COMMANDS),
}
