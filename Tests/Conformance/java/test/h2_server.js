// An HTTP/2 server on 127.0.0.1 for OkHttpSelfTest: h2_server.js CHAIN KEY.
// It prints its port, and a line for each connection and request.
const fs = require('fs');
const http2 = require('http2');
const say = (line) => process.stdout.write(line + '\n');
const server = http2.createSecureServer({cert: fs.readFileSync(process.argv[2]), key: fs.readFileSync(process.argv[3])});
server.on('secureConnection', (socket) => {
  say('connection ' + (socket.isSessionReused() ? 'resumed' : 'full'));
  socket.on('close', () => say('closed'));
  socket.on('error', () => {});
});
server.on('sessionError', () => {});
server.on('stream', (stream, headers) => {
  say('request ' + headers[':path']);
  stream.on('error', () => {});
  stream.respond({':status': 200});
  stream.end('ok');
});
server.listen(0, '127.0.0.1', () => say(String(server.address().port)));
