package com.example.arrow;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.TimeStampMicroTZVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** Tables of arrow-java, asked with the client of `svc codegen java`: prints what arrow.test.ts expects. */
public final class Main {
  private static final SvcClient CLIENT = new SvcClient();

  private interface Reader {
    void read(VectorSchemaRoot table) throws IOException;
  }

  private static void ask(BufferAllocator memory, long[] ids, SvcClient.BulkQuery query, Reader reader) throws IOException {
    Field id = Field.notNullable("user.id", new ArrowType.Int(64, true));
    Schema schema = new Schema(List.of(id), Map.of(SvcClient.ARROW_QUERY, CLIENT.arrowQuery(query)));
    ByteArrayOutputStream stream = new ByteArrayOutputStream();
    try (VectorSchemaRoot users = VectorSchemaRoot.create(schema, memory);
        ArrowStreamWriter writer = new ArrowStreamWriter(users, null, Channels.newChannel(stream))) {
      for (int row = 0; row < ids.length; row++) {
        ((BigIntVector) users.getVector(0)).setSafe(row, ids[row]);
      }
      users.setRowCount(ids.length);
      writer.writeBatch();
      writer.end();
    }
    byte[] answer = CLIENT.queryBulkArrow(stream.toByteArray());
    try (ArrowStreamReader batches = new ArrowStreamReader(new ByteArrayInputStream(answer), memory)) {
      if (!batches.loadNextBatch()) {
        throw new IllegalStateException("the answer has no rows");
      }
      reader.read(batches.getVectorSchemaRoot());
    }
  }

  private static List<Object> texts(FieldVector column) {
    List<Object> values = new ArrayList<>();
    for (int row = 0; row < column.getValueCount(); row++) {
      values.add(column.getObject(row) == null ? null : column.getObject(row).toString());
    }
    return values;
  }

  public static void main(String[] args) throws IOException {
    Map<String, Object> said = new LinkedHashMap<>();
    try (BufferAllocator memory = new RootAllocator()) {
      User.Features user = User.FEATURES;
      SvcClient.BulkQuery few =
          new SvcClient.BulkQuery()
              .output(user.id(), user.name(), user.fragile(), user.askedAt())
              .now(Instant.parse("2024-05-01T12:00:00Z"));
      ask(
          memory,
          new long[] {13, (1L << 53) + 1},
          few,
          table -> {
            said.put("ids", texts(table.getVector("user.id")));
            said.put("names", texts(table.getVector("user.name")));
            said.put("fragile", texts(table.getVector("user.fragile")));
            said.put("time", String.valueOf(((TimeStampMicroTZVector) table.getVector("user.asked_at")).get(0)));
            List<String> errors = new ArrayList<>();
            for (SvcClient.ErrorDetail error : new SvcClient.ArrowFacts(table.getSchema().getCustomMetadata()).errors()) {
              errors.add(error.code + " " + error.row);
            }
            said.put("errors", errors);
          });
      long[] ids = new long[5000];
      for (int row = 0; row < ids.length; row++) {
        ids[row] = row;
      }
      ask(
          memory,
          ids,
          new SvcClient.BulkQuery().output(user.score()),
          table -> {
            double sum = 0;
            for (int row = 0; row < table.getRowCount(); row++) {
              sum += (Double) table.getVector(0).getObject(row);
            }
            said.put("sum", sum);
          });
      try {
        ask(memory, new long[] {1}, new SvcClient.BulkQuery().output(Feature.named("user.nam")), table -> {});
      } catch (SvcException refused) {
        said.put("refused", refused.errors().get(0).message);
      }
    }
    System.out.println(SvcJson.write(said));
  }
}
