/** The poller as a process of its own; replicas share the partitions of `cursors`. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startMcpPoller } from './service.ts'

await runProcess('mcp-poller', ({ platform, stepWorld }) =>
  startMcpPoller(platform, stepWorld('mcp-poller')),
)
