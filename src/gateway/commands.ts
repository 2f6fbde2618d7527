/** HTTP requests that `copilot-proxy gateway` sends to the gateway's port. */
export const gatewayCommands = { providers: 'GET /providers', rotate: 'POST /token/rotate' } as const
