/**
 * Wiring of the dispatcher: intake of messages, nudges for executors that asked for them, and the
 * operations of executors over HTTP.
 */

import { createEventReader } from '#kernel/host/event-reader.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import type { Platform } from '#kernel/host/platform.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { runStep } from '#kernel/host/step-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { createMailbox } from './mailbox.ts'
import { createMailboxStep } from './mailbox-step.ts'
import { createPushNudge } from './push-nudge.ts'
import { mailboxRoutes } from './routes.ts'

/** Starts the intake and adds the routes. */
export async function startMailboxDispatcher(
  app: HttpApp,
  platform: Platform,
  stepWorld: StepWorld,
): Promise<Running[]> {
  const { codec, directory, tables, configuration, authenticate } = platform
  const mailbox = await createMailbox({
    ...platform,
    writer: stepWorld.writer,
    readEvent: createEventReader(platform).read,
    barrier: () => tables.barrier(),
    heartbeatAgeMs: () => tables.heartbeatAgeMs(),
    continuityMs: configuration.AMBIT_CONTINUITY_MS,
    onTransition: state => platform.telemetry.transitions.inc({ state }),
  })
  const nudge = createPushNudge({
    ...platform,
    sender: platform.httpSender,
    count: outcome => platform.telemetry.nudges.inc({ outcome }),
  })
  const intake = createMailboxStep({ codec, directory })
  const committed: typeof mailbox.note = outputs => {
    mailbox.note(outputs)
    nudge.note(outputs)
  }
  const step = await runStep({ ...intake, committed }, stepWorld)
  mailboxRoutes(app, { mailbox, authenticate })
  return [nudge, step, mailbox]
}
