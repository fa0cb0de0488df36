/** Wiring of the guard: one step over live tables, log and store. */
import { createEventReader } from '#kernel/host/event-reader.ts'
import type { Platform } from '#kernel/host/platform.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { runStatelessStep } from '#kernel/host/stateless-runner.ts'
import { runStep } from '#kernel/host/step-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { compileOnce, createGuardStep } from './guard-step.ts'
import { createTrialStep } from './trial-worker.ts'

/** Starts deciding; resolves once subscribed. */
export async function startGuard(platform: Platform, stepWorld: StepWorld): Promise<Running[]> {
  const { directory, codec, log, telemetry } = platform
  const reader = createEventReader(platform)
  const step = createGuardStep({
    directory,
    codec,
    readBodies: refs => reader.readBodies(log, refs),
    onDecision: ({ fate, stage }, kind) => {
      if (kind === 'repeat') telemetry.repeats.inc()
      else telemetry.decisions.inc({ fate, stage })
    },
  })
  const guard = { directory, codec, compile: compileOnce() }
  const trials = createTrialStep({ ...{ guard, codec }, ...stepWorld })
  return [await runStep(step, stepWorld), await runStatelessStep(trials, stepWorld)]
}
