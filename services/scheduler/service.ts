/** Wiring of the scheduler: its loop over log and store, its metrics. */
import type { Platform } from '#kernel/host/platform.ts'
import type { Running } from '#kernel/host/run-process.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { runScheduler } from './run-scheduler.ts'

/** Starts firing; resolves once subscribed, while schedules are still being read. */
export async function startScheduler(platform: Platform, stepWorld: StepWorld): Promise<Running[]> {
  const { codec, directory, telemetry } = platform
  const tz = process.versions.tz ?? 'unknown'
  telemetry.zoneDatabase.set({ version: tz }, 1)
  const scheduler = await runScheduler({
    ...stepWorld,
    codec,
    tz,
    ownerOf: (tenant, id) => directory.subscription(tenant, id),
    onDispatched: ({ firings, gaps }) => {
      for (const { lateMs } of firings) telemetry.scheduleLateness.observe(lateMs / 1000)
      for (const { reason, count } of gaps) telemetry.scheduleMissed.inc({ reason }, count)
    },
  })
  return [scheduler]
}
