/** The tools that ship. A further one is one file beside these and one line here. */
import { createTicket } from './create-ticket.ts'
import { provisionAccess } from './provision-access.ts'
import type { Tool } from './tool.ts'

/** Where the example tools post to. */
export interface ToolAddresses {
  accessUrl: string
  ticketUrl: string
}

export function shippedTools({ accessUrl, ticketUrl }: ToolAddresses): Tool[] {
  return [provisionAccess(accessUrl), createTicket(ticketUrl)]
}
