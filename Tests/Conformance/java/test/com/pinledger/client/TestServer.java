package com.pinledger.client;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** A server in a process of its own, which prints its port and then a line for each connection and request. */
final class TestServer implements Closeable {
    final int port;
    private final Process process;
    private final List<String> lines = new ArrayList<>();

    TestServer(String... command) throws IOException {
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()));
        String first = output.readLine();
        if (first == null) {
            throw new IOException("the server did not start");
        }
        port = Integer.parseInt(first);
        Thread reader = new Thread(() -> read(output));
        reader.setDaemon(true);
        reader.start();
    }

    /** What was printed since the last time, after a moment for what is under way. */
    String take() throws InterruptedException {
        Thread.sleep(150);
        synchronized (lines) {
            String taken = String.join(", ", lines);
            lines.clear();
            return taken;
        }
    }

    @Override
    public void close() {
        process.destroy();
    }

    private void read(BufferedReader output) {
        try {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                synchronized (lines) {
                    lines.add(line);
                }
            }
        } catch (IOException exception) {
            // The process has ended.
        }
    }
}
