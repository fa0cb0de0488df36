/** The black-box cases, declared once and run on either backbone against one host. */
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { createApi } from '#test/support/api-caller.ts'
import { type BackboneKind, startHost } from '#test/support/host-process.ts'
import { startTokenIssuer } from '#test/support/token-issuer.ts'
import { accessCases } from './access-cases.ts'
import { eventCases } from './event-cases.ts'
import { fateCases } from './fate-cases.ts'
import { historyCases } from './history-cases.ts'
import { httpCases } from './http-cases.ts'
import { kafkaIngressCases } from './kafka-ingress-cases.ts'
import { lifecycleCases } from './lifecycle-cases.ts'
import { mailboxCases } from './mailbox-cases.ts'
import { personCases } from './person-cases.ts'
import type { ApiWorld, GetWorld } from './scene.ts'
import { trialCases } from './trial-cases.ts'
import { webhookCases } from './webhook-cases.ts'

const CASES_AT_ONCE = 8

/** Declares the suite; `skip` is the reason not to run it. */
export function apiSuite(kind: BackboneKind, skip: string | false = false): void {
  describe(`the HTTP API, ${kind}`, { concurrency: CASES_AT_ONCE, skip }, () => {
    const world = hostedWorld(kind)
    eventCases(world)
    webhookCases(world)
    fateCases(world)
    mailboxCases(world)
    personCases(world)
    lifecycleCases(world)
    accessCases(world)
    historyCases(world)
    httpCases(world)
    trialCases(world)
    if (kind === 'distributed') kafkaIngressCases(world)
  })
}

function hostedWorld(kind: BackboneKind): GetWorld {
  let world: ApiWorld | undefined
  let stop = async () => {}
  before(async () => {
    const issuer = await startTokenIssuer()
    const host = await startHost(kind, {
      env: { ...issuer.env, E2E_WEBHOOK_SECRET: 'from-env', AMBIT_LOG_LEVEL: 'info' },
    })
    const api = createApi(host.url, host.key)
    world = {
      ...{ kind, host, api },
      inTenant: async (tenant, subject, roles) =>
        createApi(host.url, await issuer.token(tenant, subject, roles)),
    }
    stop = async () => {
      writeFileSync(join(tmpdir(), `ambit-e2e-${kind}.log`), host.output())
      await host.stop()
      await issuer.stop()
    }
  })
  after(() => stop())
  return () => {
    if (world) return world
    throw new Error('The host is not there: a case asked before it ran')
  }
}
