/** Starts the demo beside a running host; everything it does goes through the public API. */
import type { Started } from '#kernel/host/run-process.ts'
import { createClient } from '#services/client/create-client.ts'
import { printDecisions } from './decision-lines.ts'
import { moveMeeting } from './demo-calendar.ts'
import { runDemoExecutors } from './demo-executors.ts'
import { runDemoProducers } from './demo-producers.ts'
import { seedDemo } from './demo-tenant.ts'
import { ticketFolder } from './demo-tickets.ts'

/** Seeds, prints, produces, and works; resolves once the story has begun. */
export async function startDemo(started: Started, print: (line: string) => void): Promise<void> {
  const { platform, url } = started
  const client = createClient({ url, key: platform.adminKey ?? '' })
  await seedDemo(client)
  await printDecisions(platform, print)
  const { stopping: signal } = started
  void runDemoExecutors(client, signal)
  const tickets = ticketFolder(platform.configuration.AMBIT_DATA_DIR)
  print(`Put a text file that asks for a refund into ${tickets} and watch it wake an agent.`)
  void runDemoProducers({ client, url, tickets, signal })
  void moveMeeting(client, print, signal).catch(() => {
    // The host is stopping: the next start tells it again.
  })
}
