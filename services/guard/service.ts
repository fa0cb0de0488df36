/** Wiring of the guard. */
import { createEventReader } from '#kernel/host/event-reader.ts'
import type { Platform } from '#kernel/host/platform.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { runStep, type StepWorld } from '#kernel/host/step-runner.ts'
import { createGuardStep } from './guard-step.ts'

/** Starts deciding; resolves once subscribed. */
export async function startGuard(platform: Platform, stepWorld: StepWorld): Promise<Running[]> {
  const { codec, directory, log, telemetry } = platform
  const reader = createEventReader(platform)
  const step = createGuardStep({
    codec,
    directory,
    readBodies: refs => reader.readBodies(log, refs),
    onDecision({ fate, stage, repeats }) {
      if (repeats > 0) telemetry.repeats.inc()
      else telemetry.decisions.inc({ fate, stage })
    },
  })
  return [await runStep(step, stepWorld)]
}
