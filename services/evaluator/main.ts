/** Matching as a process of its own; replicas share the partitions of the ingress topics. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startEvaluator } from './service.ts'

await runProcess('evaluator', async ({ platform, stepWorld }) => [
  await startEvaluator({ ...platform, ...stepWorld('evaluator') }),
])
