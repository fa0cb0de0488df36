/** The dispatcher as a process of its own; any replica serves any mailbox. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startMailboxDispatcher } from './service.ts'

await runProcess('mailbox-dispatcher', ({ platform, app, stepWorld }) =>
  startMailboxDispatcher(app, platform, stepWorld('mailbox-dispatcher')),
)
