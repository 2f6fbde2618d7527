import nodeProcess from 'node:process'

/**
 * Node's own classes, for `instanceof`. Not by `import`: that reads every export of the module, and one of them loads a
 * second undici, Node's own, which takes 2 MB and 15 ms of the start (Node 24.21).
 */
export const { IncomingMessage, ServerResponse } = nodeProcess.getBuiltinModule('node:http')
