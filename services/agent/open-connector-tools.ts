/** Wiring of the tools that connectors give: whose they are, and what the registry is told. */
import type { Connector } from '#kernel/domain/connector.ts'
import { connectorMark } from '#kernel/domain/connector-mark.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { TABLE_OF } from '#kernel/domain/object-key.ts'
import { identityScopeOf } from '#kernel/domain/observation.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { Message } from '#services/client/api.ts'
import { createConnectorTools } from './tools/connector-tools.ts'
import type { Tool } from './tools/tool.ts'

const SERVICE = 'agent'

/** The tools of connectors for a message: of its tenant, for the person it acts for. */
export function openConnectorTools(
  platform: Platform,
  agent: string,
): (message: Message) => Promise<Tool[]> {
  const { log, codec, directory, mcp, admit, clock, logger } = platform
  const writer = createRecordWriter(codec, SERVICE)
  const toolsFor = createConnectorTools({
    ...{ mcp, admit, policyOf: directory.policy },
    ...{ now: () => performance.now(), sleep: clock.sleep },
    connectorsOf: tenant => connectorsOf(platform, tenant),
    mark: (connector, mark) => {
      const change = connectorMark(connector, { ...mark, service: SERVICE, now: clock.now() })
      return log.append([writer.encode(change)]).then(() => undefined)
    },
    onAway: ({ id }, word) => logger.warn({ connector: id, word }, 'a connector gives no tools'),
  })
  return message => {
    const { tenant, onBehalfOf, subscription } = message
    const known = subscription && directory.subscription(tenant, subscription.id)
    const person = onBehalfOf ?? (known ? identityScopeOf(known) : `agent:${agent}`)
    return toolsFor({ tenant, person })
  }
}

function connectorsOf({ tables, directory }: Platform, tenant: string): Connector[] {
  const prefix = tenantKey(tenant, 'connector', '')
  return [...tables.keys(TABLE_OF.connector)]
    .filter(key => key.startsWith(prefix))
    .flatMap(key => {
      const name = decodeURIComponent(key.slice(prefix.length))
      const connector = directory.connector(tenant, name)
      return connector ? [connector] : []
    })
}
