/** Stage of usage records that count polls of MCP servers; their calls are no calls of a model. */
export const POLL_STAGE = 'poll'
