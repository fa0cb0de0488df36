/** The scheduler as a process of its own; replicas share the partitions of `subscriptions`. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startScheduler } from './service.ts'

await runProcess('scheduler', ({ platform, stepWorld }) =>
  startScheduler(platform, stepWorld('scheduler')),
)
