/** Requests of `copilot-proxy gateway`, at the gateway's own port. */
export const gatewayCommands = { providers: 'GET /providers', rotate: 'POST /token/rotate' } as const
