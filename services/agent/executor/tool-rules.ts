/** Which tools an agent may use at all, from configuration. */
export interface ToolRules {
  isAllowed(tool: string, isWoken: boolean): boolean
  /** In runs that an event woke, sensitive tools are refused, whoever would approve. */
  isSensitiveForbiddenWhenWoken: boolean
}

/** `*` allows all; a list allows what it names. */
export function toolRulesOf(settings: {
  tools: string[]
  wokenTools: string[]
  isSensitiveForbiddenWhenWoken: boolean
}): ToolRules {
  const names = (list: string[], tool: string) => list.includes('*') || list.includes(tool)
  return {
    isAllowed: (tool, isWoken) =>
      names(settings.tools, tool) && (!isWoken || names(settings.wokenTools, tool)),
    isSensitiveForbiddenWhenWoken: settings.isSensitiveForbiddenWhenWoken,
  }
}
