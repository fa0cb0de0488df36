/** Matching and judging as a process of its own; replicas share the partitions of their topics. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startConfiguredJudge } from './judge-service.ts'
import { startMatching } from './match-service.ts'

await runProcess('evaluator', async ({ platform, stepWorld }) => [
  await startMatching({ ...platform, ...stepWorld('evaluator') }),
  ...(await startConfiguredJudge(platform, stepWorld('evaluator'))),
])
