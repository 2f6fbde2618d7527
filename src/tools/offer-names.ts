/** The tool that gets a prompt of an MCP server. Prompts are for people to choose, so models do not get it. */
export const promptToolName = 'mcp.prompts.get'

/** The tool that reads a resource of an MCP server. */
export const resourceToolName = 'mcp.resources.read'
