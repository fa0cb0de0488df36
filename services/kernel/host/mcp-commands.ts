/**
 * Which local commands connectors may start. The list belongs to the installation: whoever may
 * write connectors over the API picks from it and adds nothing, not even an argument.
 */
import { z } from 'zod'

/** Named commands: `{"tickets": ["node", "ticket-server.ts", "/srv/tickets"]}`. */
export type McpCommands = Readonly<Record<string, readonly string[]>>

const commandsSchema = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/),
  z.array(z.string().min(1)).min(1).max(64),
)

/** Reads the setting; `undefined` when it is not of that form. */
export function parseMcpCommands(text: string): McpCommands | undefined {
  try {
    return commandsSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The command that a connector names, or writes out in full; undefined for any other. */
export function mcpCommandOf(
  commands: McpCommands,
  command: string | readonly string[],
): string[] | undefined {
  if (typeof command === 'string') {
    return Object.hasOwn(commands, command) ? [...(commands[command] ?? [])] : undefined
  }
  const isSame = (given: readonly string[]) =>
    given.length === command.length && given.every((part, at) => part === command[at])
  return Object.values(commands).some(isSame) ? [...command] : undefined
}
