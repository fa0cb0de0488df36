/** The guard as a process of its own; replicas share the partitions of `candidates`. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startGuard } from './service.ts'

await runProcess('guard', ({ platform, stepWorld }) => startGuard(platform, stepWorld('guard')))
