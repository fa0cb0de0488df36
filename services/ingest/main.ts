/** The door as a process of its own; any number of replicas. */
import { runProcess } from '#kernel/host/run-process.ts'
import { startCalendars } from './calendar-service.ts'
import { registerIngest } from './service.ts'

await runProcess('ingest', async ({ platform, app }) => {
  const defaultTenant = platform.configuration.AMBIT_TENANT
  const onAccepted = (door: string, count: number) =>
    platform.telemetry.accepted.inc({ door }, count)
  await registerIngest(app, { ...platform, defaultTenant, onAccepted })
  return startCalendars(app, platform)
})
