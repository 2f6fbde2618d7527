import nodeProcess from 'node:process'
import { WebSocket } from 'ws'

// A client of /rpc with one call that nobody ends. The test stops this process without closing its connection.
const socket = new WebSocket(nodeProcess.argv[2] ?? '')
socket.on('open', () => socket.send('{"jsonrpc":"2.0","id":1,"method":"wait"}'))
