import { AmbitError } from '#kernel/errors.ts'
import type { ToolDescription } from '#kernel/ports/chat-model.ts'
import type { Tool } from './tool.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

export interface ToolRegistry {
  find(name: string): Tool | undefined
  /** What the model is told: only tools that this run may use. */
  describe(isAllowed: (tool: Tool) => boolean): ToolDescription[]
}

/** The tools of one agent. Throws `invalid` for two of one name, and for a name that is none. */
export function createToolRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (!NAME.test(tool.name)) {
      throw new AmbitError('invalid', `Expected a tool name like create_ticket, got ${tool.name}.`)
    }
    if (byName.has(tool.name)) {
      throw new AmbitError('invalid', `There are two tools ${tool.name}. Rename one of them.`)
    }
    byName.set(tool.name, tool)
  }
  return {
    find: name => byName.get(name),
    describe: isAllowed =>
      tools
        .filter(isAllowed)
        .map(({ name, description, parameters }) => ({ name, description, parameters })),
  }
}

/** A registry with further tools; names that are taken stay with those who have them. */
export function withTools(registry: ToolRegistry, tools: readonly Tool[]): ToolRegistry {
  const more = createToolRegistry(tools.filter(({ name }) => !registry.find(name)))
  return {
    find: name => registry.find(name) ?? more.find(name),
    describe: isAllowed => [...registry.describe(isAllowed), ...more.describe(isAllowed)],
  }
}
