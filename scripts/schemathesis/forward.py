"""Passes bytes between a port of this machine's loopback and a Unix socket."""

import asyncio
import os
import sys


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


async def main(socket, port_file):
    for _ in range(200):
        if os.path.exists(socket):
            break
        await asyncio.sleep(0.1)

    async def serve(reader, writer):
        try:
            inner_reader, inner_writer = await asyncio.open_unix_connection(socket)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with open(port_file + ".new", "w") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.rename(port_file + ".new", port_file)
    await server.serve_forever()


asyncio.run(main(sys.argv[1], sys.argv[2]))
